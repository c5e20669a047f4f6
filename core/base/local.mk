# sources of core/base
