from typing import Literal


def convert_temperature(degrees: float, to: Literal["celsius", "fahrenheit"]) -> str:
    """Converts a temperature between Celsius and Fahrenheit.

    Args:
        degrees: The temperature to convert.
        to: The unit to convert to; the other one is what `degrees` is in.
    """
    if to == "fahrenheit":
        return f"{degrees * 9 / 5 + 32:.1f} °F"
    return f"{(degrees - 32) * 5 / 9:.1f} °C"
