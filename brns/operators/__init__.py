"""How a population turns over: founders, variation, survivor selection."""
