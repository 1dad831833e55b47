import type { Event } from './events.js'
import { askPython } from './python-lines.js'

/**
 * The event callback of the agent, called as ansible calls it, step by step, with a clock that only `tick` moves. Everything it
 * writes is real: events.jsonl, callback.json, and marks in the output.
 */
const PROGRAM = `
import atexit, os, resource, shutil, tempfile
from types import SimpleNamespace as Any
from ansible.executor.stats import AggregateStats
INCREMENT = AggregateStats.increment
sys.path.insert(0, sys.argv[1] + "callback")
import holdfast_events
from holdfast_job import event_secrets
FILES = ("HOLDFAST_EVENTS_FILE", "HOLDFAST_CALLBACK_FILE", "HOLDFAST_EVENTS_PIPE", "HOLDFAST_SECRETS_FILE", "HOLDFAST_OUTPUT_MARKS")

class Named:
    action = "command"
    no_log = False
    delegate_to = None

    def __init__(self, name, **more):
        self.name, self._uuid, self.path = name, "uuid of " + name, None
        if "role" in more: self._role = Named(more.pop("role"))
        if "block" in more: self._parent = Any(rescue=["a task"], block=[self])
        self.__dict__.update(more)

    def get_name(self): return self.name
    def get_path(self): return self.path

class Display:
    verbosity = 0
    def __init__(self): self.said = []
    def warning(self, text): self.said.append("warning: " + text)
    def error(self, text, wrap_text=True): self.said.append(("wrapped " if wrap_text else "") + "error: " + text)

class Scene:
    def __init__(self, given, folder):
        self.given, self.folder, self.clock = given, folder, 100.0
        self.tasks, self.stats, self.display, self.exits, self.reader = {}, AggregateStats(), Display(), [], None
        holdfast_events.time = Any(monotonic=lambda: self.clock)
        files = given.get("files", {"HOLDFAST_EVENTS_FILE": "events.jsonl", "HOLDFAST_CALLBACK_FILE": "callback.json"})
        for name, value in files.items():
            os.environ[name] = value if name == "HOLDFAST_OUTPUT_MARKS" else os.path.join(folder, value)
        if "HOLDFAST_EVENTS_PIPE" in files:
            os.mkfifo(os.environ["HOLDFAST_EVENTS_PIPE"])
            self.reader = os.open(os.environ["HOLDFAST_EVENTS_PIPE"], os.O_RDONLY | os.O_NONBLOCK)
        if "secrets" in given:
            with open(os.path.join(folder, "secrets"), "w") as file: file.write(given["secrets"])
        if given.get("words") == "unknown": del AggregateStats.increment
        self.plugin = holdfast_events.CallbackModule(display=self.display)

    def task(self, name):
        if name not in self.tasks: self.tasks[name] = Named(name, **self.given.get("tasks", {}).get(name, {}))
        return self.tasks[name]

    def tick(self, seconds): self.clock += seconds
    def rename(self, task, name): self.task(task).name = name
    def count(self, word, host): self.stats.increment(word, host)
    def counted(self, host, **counts):
        self.stats.processed[host] = 1
        for word, count in counts.items(): getattr(self.stats, word)[host] = count
    def published(self, values):
        for name, value in values.items(): self.stats.set_custom_stats(name, value)
    def exit(self): atexit._run_exitfuncs()
    def lose(self): self.limit(os.path.getsize(os.path.join(self.folder, "events.jsonl")))
    def take(self): self.limit(resource.RLIM_INFINITY)
    def limit(self, size): resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    def close(self):
        self.piped = os.read(self.reader, 65536).decode()
        os.close(self.reader)

    def playbook(self, path): self.plugin.v2_playbook_on_start(playbook=Any(_file_name=path))
    def play(self, name, path=None): self.plugin.v2_playbook_on_play_start(play=Named(name, path=path))
    def task_start(self, task): self.plugin.v2_playbook_on_task_start(self.task(task), is_conditional=False)
    def handler_start(self, task): self.plugin.v2_playbook_on_handler_task_start(self.task(task))
    def include(self, task, file, hosts):
        included = Any(_hosts=[Named(host) for host in hosts], _filename=file, _task=self.task(task))
        self.plugin.v2_playbook_on_include(included_file=included)
    def notify(self, task, host): self.plugin.v2_playbook_on_notify(self.task(task), Named(host))
    def nobody(self, which): getattr(self.plugin, "v2_playbook_on_no_hosts_" + which)()
    def prompt(self, name, **more):
        try: self.plugin.v2_playbook_on_vars_prompt(name, **more)
        except SystemExit as end: self.exits.append(end.code)
    def recap(self): self.plugin.v2_playbook_on_stats(self.stats)
    def start(self, host, task): self.plugin.v2_runner_on_start(host=Named(host), task=self.task(task))
    def result(self, kind, host, task, values=None, **more):
        result = Any(host=Named(host), task=self.task(task), result=values or {})
        getattr(self.plugin, "v2_" + kind)(result, **more)
    def broken(self): self.plugin.v2_runner_on_ok(None)

    def told(self):
        def read(name):
            path = os.path.join(self.folder, name)
            return open(path).read() if os.path.exists(path) else None
        report = read("callback.json")
        return {
            "text": read("events.jsonl") if self.reader is None else self.piped,
            "report": None if report is None else json.loads(report),
            "said": self.display.said, "exits": self.exits,
            "disabled": getattr(self.plugin, "disabled", False),
            "left": [name for name in FILES if name in os.environ],
        }

def answer(given):
    AggregateStats.increment, event_secrets._hider = INCREMENT, None
    folder = os.path.realpath(tempfile.mkdtemp())
    output = os.open(os.path.join(folder, "output"), os.O_RDWR | os.O_CREAT)
    before, stdout = os.getcwd(), os.dup(1)
    os.chdir(folder)
    os.dup2(output, 1)
    try:
        scene = Scene(given, folder)
        for step in given["steps"]:
            name, *rest = step
            more = rest.pop() if rest and isinstance(rest[-1], dict) and name in ("prompt", "counted") else {}
            if name == "result" and len(rest) == 5: more = rest.pop()
            rest = [part.replace("@FOLDER", folder) if isinstance(part, str) else part for part in rest]
            getattr(scene, name)(*rest, **more)
        told = scene.told()
        told["marks"] = os.fstat(output).st_size and os.pread(output, 65536, 0).count(b"\\x1b_")
        return told
    finally:
        atexit._clear()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.dup2(stdout, 1)
        os.chdir(before)
        for number in (stdout, output): os.close(number)
        for name in FILES: os.environ.pop(name, None)
        shutil.rmtree(folder)
`

export type Step = readonly [name: string, ...rest: unknown[]]

export interface Given {
  readonly steps: readonly Step[]
  /** What tasks say of themselves, by their names. */
  readonly tasks?: Readonly<Record<string, object>>
  /** The variables that name files of the job; those of a job without a user of its own by default. */
  readonly files?: Readonly<Record<string, string>>
  readonly secrets?: string
  /** 'unknown' for an ansible that counts for its recap in another way. */
  readonly words?: 'unknown'
}

export interface Told {
  readonly events: readonly Event[]
  readonly text: string | null
  readonly report: Readonly<Record<string, unknown>> | null
  /** What the callback said to the person who looks at the output. */
  readonly said: readonly string[]
  readonly exits: readonly number[]
  readonly disabled: boolean
  /** Variables of the job that are still in the environment. */
  readonly left: readonly string[]
  /** How many marks are in the output. */
  readonly marks: number
}

/** Gives a function that plays scenes, all in one Python. */
export function callbackScenes(): (given: Given | readonly Step[]) => Promise<Told> {
  const ask = askPython(PROGRAM, 'ansible')
  return async (given) => {
    const told = (await ask('steps' in given ? given : { steps: given })) as Omit<Told, 'events'>
    const lines = (told.text ?? '').split('\n').filter((line) => line.startsWith('{'))
    return { ...told, events: lines.map((line) => JSON.parse(line) as Event) }
  }
}
