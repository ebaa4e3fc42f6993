"""Loggers and callbacks that connect trainers to `tbq.SummaryWriter`, one module per trainer."""
