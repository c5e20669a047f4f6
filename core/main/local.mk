# sources of core/main
