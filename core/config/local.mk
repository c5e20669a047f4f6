# sources of core/config
