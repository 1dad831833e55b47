import { askPython } from './python-lines.js'

/** What tests of single Python modules need: modules with some functions of the test's own, and a clock that stands still. */
const TOOLS = `
import errno, os, shutil, sys, tempfile, types

class StandIn:
    """A module some of whose functions are the test's own."""
    def __init__(self, real, **own): self.__dict__.update(own, _real=real)
    def __getattr__(self, name): return getattr(self.__dict__["_real"], name)

class Clock:
    """As the module time. A sleep takes no time of the test; whoever sleeps 1000 times would never end."""
    def __init__(self, now=1000.0): self.now, self.slept, self.sleeps = now, [], 0
    def monotonic(self): return self.now
    def sleep(self, seconds):
        self.sleeps += 1
        if self.sleeps > 1000: raise KeyboardInterrupt("sleeps for ever")
        self.slept.append(seconds)
        self.now += seconds

class Folder:
    """A temporary folder for a with block."""
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="holdfast-python-")
        return self.path
    def __exit__(self, *error): shutil.rmtree(self.path)

def failing(number):
    def fail(*arguments, **more): raise OSError(number, os.strerror(number))
    return fail

def open_files(): return len(os.listdir("/proc/self/fd"))

def answer(question): return globals()[question[0]](*question[1:])
`

/**
 * Starts one Python for all tests of a file, in which they call functions.
 * @param program defines the functions; what they return must be JSON. `TOOLS` are at its service
 */
export function callPython(program: string): (name: string, ...given: unknown[]) => Promise<unknown> {
  const ask = askPython(TOOLS + program)
  return (name, ...given) => ask([name, ...given])
}
