"""Gives command lines to ansible's own parsers and templates, and tells which of them did more than carry data.

Reads lines of JSON from its standard input, {"arguments": [...]} each, and answers each with {"hits": [...]}. No playbook is
run: what is called is what ansible-playbook does before and around its tasks (command line, inventory, limit, tags,
extra variables, templates and conditions). A hit is a program that was started, a file that was opened which nobody may
name, or text that only a template or an opened secret could have made.
"""

import io
import json
import os
import sys

CANARIES = json.loads(os.environ['INJECTION_CANARIES'])
hits = []


def watch(event, arguments):
    if event in ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn', 'os.fork'):
        hits.append('started a program: %.200r' % (arguments,))
    if event == 'open' and isinstance(arguments[0], (str, bytes)):
        name = os.fsdecode(arguments[0])
        if any(os.path.abspath(name) == path for path in CANARIES['files']):
            hits.append('opened %s' % name)


from ansible import context  # noqa: E402
from ansible.cli import CLI  # noqa: E402
from ansible.cli.playbook import PlaybookCLI  # noqa: E402
from ansible.errors import AnsibleError  # noqa: E402
from ansible.playbook.play import Play  # noqa: E402
from ansible.playbook.task import Task  # noqa: E402
from ansible.template import Templar  # noqa: E402
from ansible.utils import context_objects, vars as utils_vars  # noqa: E402
from ansible.utils.display import Display  # noqa: E402

try:
    from ansible.template import trust_as_template as own
except ImportError:

    def own(text):
        return text


try:
    from ansible.parsing.vault import VaultSecretsContext
except ImportError:
    VaultSecretsContext = None
try:
    from ansible.plugins.loader import init_plugin_loader
except ImportError:

    def init_plugin_loader():
        pass


# What a playbook may say about its command line, and about each variable.
OF_COMMAND_LINE = [
    '{{ %s | default("") }}' % name
    for name in (
        'ansible_limit inventory_hostname inventory_hostname_short inventory_file inventory_dir ansible_inventory_sources '
        'ansible_run_tags ansible_skip_tags groups group_names ansible_play_hosts ansible_play_hosts_all playbook_dir'
    ).split()
] + ['{{ hostvars }}', '{{ hostvars[inventory_hostname] | default({}) }}', '{{ vars }}', '{{ ansible_limit }} {{ groups }}']
OF_VARIABLES = ['{{ %s }}', 'text {{ %s }}', '{{ %s | to_json }}', '{%% for x in [%s] %%}{{ x }}{%% endfor %%}']


def fresh(arguments):
    """ansible reads its command line once for a process; here it is read many times."""
    context_objects.GlobalCLIArgs._Singleton__instance = None
    for function in (utils_vars.load_extra_vars, utils_vars.load_options_vars):
        function.__dict__.clear()
    if VaultSecretsContext is not None:
        VaultSecretsContext._current = None
    cli = PlaybookCLI(['ansible-playbook'] + arguments)
    cli.parse()
    return cli


def attempt(what, said):
    try:
        result = what()
        said.append(str(result))
        return result
    except (AnsibleError, SystemExit) as error:
        said.append(str(error))
    except RecursionError:
        said.append('too deep')
    except Exception as error:
        said.append('%s: %s' % (type(error).__name__, error))
    return None


def play_through(arguments, said):
    """Gives the number of templates that were tried, so that a test can tell whether it tested anything."""
    tried = 0
    cli = attempt(lambda: fresh(arguments), said)
    if cli is None:
        return tried
    prepared = attempt(cli._play_prereqs, said)
    if prepared is None:
        return tried
    loader, inventory, manager = prepared
    attempt(lambda: CLI.get_host_list(inventory, context.CLIARGS['subset']), said)
    play = Play.load({'name': 'x', 'hosts': 'all', 'gather_facts': False}, variable_manager=manager, loader=loader)
    names = [name for name in attempt(lambda: list(manager.extra_vars), said) or []]
    for host in (attempt(lambda: inventory.get_hosts(ignore_limits=True), said) or [])[:2] or [inventory.localhost]:
        if host is None:
            continue
        values = attempt(lambda: manager.get_vars(play=play, host=host), said)
        if values is None:
            continue
        templar = Templar(loader=loader, variables=values)
        expressions = OF_COMMAND_LINE + [text % name for name in names if name.isidentifier() for text in OF_VARIABLES]
        for expression in expressions:
            tried += 1
            result = attempt(lambda: templar.template(own(expression)), said)
            # As a value that a task keeps and another one uses.
            again = attempt(lambda: templar.template(result), said)
            if isinstance(again, str) and expression == OF_VARIABLES[0] % (names[0] if names else ''):
                task = attempt(lambda: Task.load({'debug': {}, 'when': expression}, loader=loader), said)
                if task is not None:
                    attempt(lambda: task.evaluate_conditional(templar, values), said)
        tags = attempt(lambda: Task.load({'debug': {}, 'tags': ['a']}, loader=loader), said)
        only, skip = context.CLIARGS['tags'], context.CLIARGS['skip_tags']
        if tags is not None:
            attempt(lambda: tags.evaluate_tags(list(only), list(skip), values), said)
    return tried


def main():
    answers = os.fdopen(os.dup(1), 'w')
    shown = open(os.environ['INJECTION_OUTPUT'], 'w+b', buffering=0)
    os.dup2(shown.fileno(), 1)
    os.dup2(shown.fileno(), 2)
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(os.dup(1), 'w'), errors='replace', write_through=True)
    init_plugin_loader()
    Display().verbosity = 0
    # The first time ansible looks at its environment, which is no attack.
    play_through(['--inventory=localhost,', 'site.yml'], [])
    sys.addaudithook(watch)
    for line in sys.stdin:
        hits.clear()
        shown.seek(0)
        shown.truncate()
        said = []
        tried = play_through(json.loads(line)['arguments'], said)
        shown.seek(0)
        text = shown.read().decode('utf8', 'replace') + '\n'.join(said)
        found = hits + ['showed %s' % word for word in CANARIES['words'] if word in text]
        found += ['made %s' % path for path in CANARIES['made'] if os.path.exists(path)]
        for path in CANARIES['made']:
            if os.path.exists(path):
                os.remove(path)
        answers.write(json.dumps({'hits': sorted(set(found)), 'tried': tried, 'said': said if os.environ.get('INJECTION_DEBUG') else []}) + '\n')
        answers.flush()


main()
