"""The server: requests, who may ask, parameters, replies."""
