"""From counts of codes and concepts to who has a disease: anchors define the truth."""
