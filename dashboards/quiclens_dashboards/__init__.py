"""Grafana dashboards of quiclens."""
