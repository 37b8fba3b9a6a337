"""Training that Azure had in preview."""
