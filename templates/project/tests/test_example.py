"""Run with `python -m unittest discover tests` from the project folder."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tools.example import convert_temperature


class ConvertTemperature(unittest.TestCase):
    def test_boiling_water(self) -> None:
        self.assertEqual(convert_temperature(100, "fahrenheit"), "212.0 °F")
        self.assertEqual(convert_temperature(212, "celsius"), "100.0 °C")


if __name__ == "__main__":
    unittest.main()
