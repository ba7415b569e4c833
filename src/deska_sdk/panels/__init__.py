"""Panel actions: what a panel declares, what the person agrees to, and how a call goes."""
