"""Is quiclens right? Runs whose cause is known, judged by the collector, against what was really injected."""
