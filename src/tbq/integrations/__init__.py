"""Loggers and callbacks for trainers over `tbq.SummaryWriter`, one module each; import the one you need."""
