# sources of core/retry
