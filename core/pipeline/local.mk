# sources of core/pipeline
