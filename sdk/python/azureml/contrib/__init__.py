"""What Azure had in preview."""
