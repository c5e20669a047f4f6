# sources of core/kafka
