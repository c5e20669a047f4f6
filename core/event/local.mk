# sources of core/event
