"""Programs of the user's as processes: started, waited for, ended with all that they started."""
