"""The dashboard: server-rendered pages about the gateway. See `brim.dashboard.app.create`."""
