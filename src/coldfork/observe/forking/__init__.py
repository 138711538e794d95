"""What a fork hands to its child: what the process holds, what the child is for, and what it then touches."""
