"""Pictures of a deliverable's pages, for people and for multimodal judges."""
