"""Pictures of a deliverable's pages, for people and for judges that see."""
