"""Numbers as they are printed, and as CSV."""

from brns.metrics.numbers import csv_text, number


def test_numbers_are_printed_with_three_digits_and_whole_from_100_on_and_none_is_a_dash():
    numbers = 0.0, 1.0, 0.12345, 12.345, 123.45, 1234.5, 20100.0, 1e-5
    assert " ".join(map(number, numbers)) == "0 1 0.123 12.3 123 1234 20100 1e-05"
    none = None, float("nan"), float("inf")
    assert " ".join(map(number, none)) == "– – inf"


def test_rows_as_csv_have_the_columns_of_all_and_nothing_where_they_lack_one():
    assert csv_text([{"a": 1, "b": "x,y"}, {"a": 2.5, "c": 3}]) == 'a,b,c\n1,"x,y",\n2.5,,3\n'
