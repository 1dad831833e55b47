"""Prints every mutation that Python files allow, as JSON. Their paths come from standard input, one a line."""

import ast
import json
import sys

SWAPPED = {"Eq": "!=", "NotEq": "==", "Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">", "Is": "is not", "IsNot": "is", "In": "not in", "NotIn": "in"}
SIGNS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in"}


class Finder(ast.NodeVisitor):
    def __init__(self, path, text):
        self.path, self.text, self.found = path, text, []
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.lines = text.splitlines(keepends=True)

    def place(self, line, column):
        """Columns of the syntax tree count bytes of UTF-8."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node):
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def units(self, place):
        """JavaScript counts units of UTF-16."""
        return len(self.text[:place].encode("utf-16-le")) // 2

    def add(self, kind, start, end, replacement):
        place = {"start": self.units(start), "end": self.units(end)}
        self.found.append({"path": self.path, "kind": kind, **place, "replacement": replacement})

    def between(self, left, right, sign, other):
        """The sign between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        at = self.text.find(sign, start, end)
        if at >= 0:
            self.add(f"{other} for {sign}", at, at + len(sign), other)

    def visit_Compare(self, node):
        if len(node.ops) == 1:
            name = type(node.ops[0]).__name__
            self.between(node.left, node.comparators[0], SIGNS[name], SWAPPED[name])
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        sign, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        if len(node.values) == 2:
            self.between(node.values[0], node.values[1], sign, other)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if isinstance(node.right, ast.Constant) and node.right.value == 1 and isinstance(node.op, (ast.Add, ast.Sub)):
            sign, other = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            self.between(node.left, node.right, sign, other)
        self.generic_visit(node)

    def negate(self, test):
        start, end = self.span(test)
        self.add("negated condition", start, end, f"not ({self.text[start:end]})")

    def visit_If(self, node):
        self.negate(node.test)
        self.generic_visit(node)

    visit_While = visit_If
    visit_IfExp = visit_If

    def visit_Constant(self, node):
        if node.value is True or node.value is False:
            start, end = self.span(node)
            self.add("other truth", start, end, str(not node.value))

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            start, end = self.span(node)
            self.add("removed call", start, end, "pass")
        self.generic_visit(node)

    def visit_members(self, node):
        for index, member in enumerate(node.elts[:-1]):
            if isinstance(member, ast.Constant) and isinstance(member.value, (str, bytes)):
                self.add("removed member", self.span(member)[0], self.span(node.elts[index + 1])[0], "")
        self.generic_visit(node)

    visit_Tuple = visit_List = visit_Set = visit_members


def main():
    found = []
    for path in sys.stdin.read().splitlines():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        finder = Finder(path, text)
        finder.visit(ast.parse(text))
        found += sorted(finder.found, key=lambda one: (one["start"], one["end"]))
    json.dump(found, sys.stdout)


main()
