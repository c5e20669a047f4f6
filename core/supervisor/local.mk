# sources of core/supervisor
