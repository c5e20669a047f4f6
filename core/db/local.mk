# sources of core/db
