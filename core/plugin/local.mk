# sources of core/plugin
