"""Writes query_cases.json: expressions with the answers of the reference implementation (`pip install jmespath`).

Run: python3 make_query_cases.py [count [seed]] > query_cases.json
"""

import json
import random
import sys

import jmespath
from jmespath.exceptions import JMESPathError

RUNS = {
    "runs": [
        {"id": "exp_1", "status": "Completed", "number": 1, "metrics": {"loss": 0.5, "acc": 0.75}, "tags": ["a", "b"], "node": {"name": "n1", "gpus": 4}},
        {"id": "exp_2", "status": "Failed", "number": 2, "metrics": {"loss": 2, "acc": None}, "tags": [], "error": {"code": "Oom", "message": "out of memory"}},
        {"id": "exp_3", "status": "Running", "number": 3, "metrics": {"loss": 0.25}, "tags": ["b"], "node": {"name": "n2", "gpus": 0}},
        {"id": "hd_1", "status": "Completed", "number": 10, "metrics": {}, "tags": ["c", "a"], "node": None},
    ],
    "count": 4, "name": "exp", "empty": [], "none": None, "yes": True, "no": False, "zero": 0, "text": "", "object": {},
    "nested": [[1, 2, [3]], [4], 5, [], None, [[6, 7]]], "numbers": [3, 1, 2.5, -4], "words": ["pear", "apple", "fig"],
    "with-dash": {"a b": 1, "\u00e9t\u00e9": "\u00fcber"}, "mixed": [1, "a", None, True, {"a": 1}, [1]],
    "deep": {"x": {"loss": [1, 2]}, "y": {"loss": [3]}, "z": {"other": 1}, "w": 5},
}

WRITTEN = r"""
@
name
runs
runs[0]
runs[-1].id
runs[9]
runs[0].node.name
name.nothing.at.all
runs[*].id
runs[].id
runs[*].node.name
runs[*].metrics.loss
runs[*].tags
runs[*].tags[]
runs[].tags[]
runs[].tags[0]
runs[*].tags[0]
runs[*].tags | [0]
runs[*].tags[*]
runs[:2].id
runs[::2].id
runs[::-1].id
runs[-2:].id
runs[5:].id
runs[1:3].number
runs[10:0:-1].number
numbers[2:0:-1]
numbers[:-1]
numbers[-100:100]
numbers[100:-100:-2]
name[0:1]
nested[]
nested[][]
nested[][][]
nested[*][0]
nested[*][*]
nested[0][2][0]
nested[:2][0]
object.*
*.loss
deep.*.loss
deep.*.loss[]
deep.*.loss[0]
deep.*.loss | [0]
deep.* | [0].loss
deep.x.*
metrics.*
runs[*].metrics.*
runs[?status=='Completed'].id
runs[?status=='Completed' && number>`1`].id
runs[?status=='Completed' || status=='Failed'].id
runs[?!(status=='Completed')].id
runs[?node].id
runs[?!node].id
runs[?node.gpus].id
runs[?node.gpus > `0`].id
runs[?metrics.loss < `1`].{id: id, loss: metrics.loss}
runs[?metrics.loss <= `0.5`].[id, number]
runs[?contains(tags, 'a')].id
runs[?starts_with(id, 'exp')].number
runs[?ends_with(id, '1')] | [0].id
runs[?status==`Completed`].id
runs[?status==`"Completed"`].id
runs[?number==`1.0`].id
runs[?error.code=='Oom'] | [0].error.message
runs[?tags].tags[]
runs[?tags][].tags
runs[?status > 'D'].id
runs[?metrics==`{}`].id
runs[?@.number >= `3`].id
runs[?tags[?@=='a']].id
runs[0].[id, status, nothing]
runs[0].{"the id": id, s: status, n: node.name}
none.[a]
none.{a: b}
[name, count]
{a: name, b: runs[*].id}
runs[*].[id, metrics.loss]
runs[*].{i: id, t: tags[0]}
runs[].[id]
runs[].[id][]
"with-dash"
"with-dash"."a b"
"with-dash"."\u00e9t\u00e9"
length(runs)
length(name)
length(object)
length("with-dash"."\u00e9t\u00e9")
length(count)
keys(runs[0].metrics)
values(runs[0].metrics)
sort(numbers)
sort(words)
sort(empty)
sort(mixed)
sort_by(runs, &number)[*].id
sort_by(runs, &id)[-1].number
sort_by(runs, &metrics.loss)
sort_by(runs[?metrics.loss], &metrics.loss)[].id
reverse(numbers)
reverse(name)
reverse(sort_by(runs, &status))[*].status
contains(name, 'xp')
contains(words, 'fig')
contains(numbers, `2.5`)
contains(mixed, `true`)
contains(mixed, `{"a":1}`)
contains(none, 'a')
starts_with(name, 'e')
ends_with(name, '')
starts_with(count, 'e')
join(', ', words)
join('-', runs[*].id)
join(',', numbers)
max(numbers)
min(numbers)
max(words)
min(empty)
max(mixed)
max_by(runs, &number).id
min_by(runs, &status).id
max_by(empty, &a)
sum(numbers)
sum(empty)
sum(runs[*].number)
avg(numbers)
avg(empty)
avg(words)
to_string(runs[0].metrics)
to_string(name)
to_string(`1.5`)
to_string(none)
to_number('12')
to_number('1.5e3')
to_number('x')
to_number(name)
to_number(yes)
to_number(count)
type(@)
type(runs)
type(none)
type(yes)
type(zero)
type(name)
not_null(none, nothing, name)
not_null(none)
abs(`-3`)
ceil(`1.2`)
floor(`-1.2`)
map(&id, runs)
map(&error.code, runs)
merge(runs[0].metrics, `{"loss": 9, "x": 1}`)
to_array(name)
to_array(words)
yes && name
no && name
no || name
zero && name
zero || name
text || empty || object || name
none || 'default'
!none
!zero
!name
!empty
yes && no || name
no || yes && name
name == 'exp'
name != 'exp'
count == `4`
yes == `1`
yes == `true`
zero == `false`
empty == `[]`
none == nothing
count < `5`
count >= `4.0`
name < count
name < 'f'
runs == none
count > none
runs | length(@)
runs[*].id | join(',', @)
runs[*].id | sort(@) | [0]
(runs)[0].id
(runs[*].tags)[0]
(runs[*]).id
runs[*].tags | []
runs | [*].id
runs[*] | [0]
runs[*].node.[name]
runs[*].node.{n: name}
[*]
[0]
[]
*
*.*
[?a]
[::1]
`[1, 2]`
`{"a": [1]}`.a[0]
'raw \' string'
'raw \n string'
`"tick\`ed"`
`bare`
@.runs[0].id
runs[?length(tags) > `1`].id
length(runs[?status == 'Completed'])
runs[?number > `1`] | [?number < `4`].id
runs[*].tags[?@ == 'a']
runs[*].tags[?@ == 'a'][]
nested[?@]
runs[?not_null(node.gpus, `7`) == `7`].id
runs[].metrics[]
runs[0].*
runs[0].* | length(@)
words[*].length(@)
words[*].[@, length(@)]
runs[*].tags.length(@)
runs[?node != null].id
runs[?node != `null`].id
"""

REFUSED = r"""
runs[
runs[0
runs.
.runs
runs..id
runs[*
runs[a]
[?a
a[?]
a b
a &&
|| a
a |
a = b
!
a-b
{a}
{a:}
{a: b
[a,
[a b]
length(
length(a
length()
length(a, b)
sort_by(a)
sort_by(a, b)
length(&a)
"a"(b)
foo(a)
a[1:2:3:4]
a[::0]
'open
"open
`open
a[*]b
a.1
a.'b'
@a
a[-]
#
a ! b
"""


class Maker:
    """Random expressions over the names of the data."""

    NAMES = ["runs", "id", "status", "number", "metrics", "loss", "acc", "tags", "node", "name", "gpus", "nested", "numbers", "words", "deep",
             "x", "y", "mixed", "empty", "none", "count", "nothing", "object", '"with-dash"', "error", "code"]
    LITERALS = ["`1`", "`0`", "`2.5`", "`true`", "`null`", "'Completed'", "'a'", "`[]`", "'exp'"]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def expression(self, depth):
        pick = self.random.random()
        if depth <= 0 or pick < 0.15:
            return self.random.choice(self.NAMES + ["@", "runs", "runs", "deep", "nested"])
        left = self.expression(depth - 1)
        r = self.random
        choices = [
            lambda: f"{left}.{r.choice(self.NAMES)}",
            lambda: f"{left}.{r.choice(self.NAMES)}",
            lambda: f"{left}[*]",
            lambda: f"{left}[]",
            lambda: f"{left}.*",
            lambda: f"{left}[{r.randint(-3, 3)}]",
            lambda: f"{left}[{self.part()}:{self.part()}]",
            lambda: f"{left}[{self.part()}:{self.part()}:{r.choice(['', '1', '2', '-1', '-2'])}]",
            lambda: f"{left}[?{self.condition(depth - 1)}]",
            lambda: f"{left}.[{self.expression(depth - 2)}, {self.expression(depth - 2)}]",
            lambda: f"{left}.{{a: {self.expression(depth - 2)}, loss: {self.expression(depth - 2)}}}",
            lambda: f"{left} | {self.expression(depth - 2)}",
            lambda: f"({left})",
            lambda: f"{left} || {self.expression(depth - 2)}",
            lambda: f"{left} && {self.expression(depth - 2)}",
            lambda: f"!{left}",
            lambda: self.call(left, depth),
        ]
        return r.choice(choices)()

    def part(self):
        return self.random.choice(["", "", str(self.random.randint(-5, 5))])

    def condition(self, depth):
        left = self.expression(depth - 1)
        if self.random.random() < 0.3:
            return left
        return f"{left} {self.random.choice(['==', '!=', '<', '<=', '>', '>='])} {self.random.choice(self.LITERALS)}"

    def call(self, left, depth):
        r = self.random
        one = ["length", "keys", "values", "sort", "reverse", "max", "min", "sum", "avg", "type", "to_array", "not_null"]
        two = ["sort_by", "max_by", "min_by"]
        pick = r.random()
        if pick < 0.6:
            return f"{r.choice(one)}({left})"
        if pick < 0.8:
            return f"{r.choice(two)}({left}, &{r.choice(self.NAMES)})"
        return f"map(&{r.choice(self.NAMES)}, {left})"


def is_quirk(node):
    """Whether the reference implementation reads the expression otherwise than the specification does: it ends the projection of
    `a.*.b.c` before the second dot, forgets that of `a[0][1:]`, and takes `!a.b` for `(!a).b`."""
    children = node["children"]
    kind = node["type"]
    if kind in ("subexpression", "index_expression", "projection", "value_projection", "filter_projection", "flatten"):
        left = children[0]["type"]
        if left == "not_expression" or (left == "value_projection" and kind != "flatten"):
            return True
    if kind == "index_expression" and len(children) > 2 and any(child["type"] == "slice" for child in children):
        return True
    return any(is_quirk(child) for child in children if isinstance(child, dict))


def answer(expression):
    """The case, or None where the reference implementation answers outside the specification."""
    try:
        if is_quirk(jmespath.compile(expression).parsed):
            return None
    except JMESPathError:
        pass
    try:
        return {"expression": expression, "expected": jmespath.search(expression, RUNS)}
    except JMESPathError:
        return {"expression": expression, "error": True}
    except (TypeError, ValueError, AttributeError, RecursionError):
        return None


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    maker = Maker(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    cases = [answer(line) for line in WRITTEN.strip("\n").split("\n")]
    cases += [{"expression": line, "error": True} for line in REFUSED.strip("\n").split("\n")]
    seen = {case["expression"] for case in cases if case}
    tries = 0
    while count > 0 and tries < 200 * int(sys.argv[1] if len(sys.argv) > 1 else 400):
        tries += 1
        case = answer(maker.expression(4))
        if not case or case["expression"] in seen or len(json.dumps(case)) > 600:
            continue
        # Null and error are the common answers; few of them are enough.
        if case.get("expected") in (None, [], [None]) and maker.random.random() < 0.85:
            continue
        seen.add(case["expression"])
        cases.append(case)
        count -= 1
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases if case)
    print('{"input": ' + json.dumps(RUNS, ensure_ascii=False) + ',\n"cases": [\n' + lines + "\n]}")


main()
