# sources of core/admin
