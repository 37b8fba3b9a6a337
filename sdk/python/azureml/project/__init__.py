"""Projects, as 2018 had them."""
