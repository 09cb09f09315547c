"""The dashboard: pages rendered on the server from what the gateway knows. See `brim.dashboard.app.create`."""
