/*
 * Faults for unmodified programs, by LD_PRELOAD.
 *
 *   CHAOS_RULES   a folder; each file in it is one rule, one line: <once|always> <operation> <program> <path> <action>
 *   CHAOS_CLOCK   a file with one signed 64-bit number: nanoseconds added to the wall clock. It is mapped, so a change
 *                 is seen at once
 *
 *   CHAOS_BOOT_ID a file that is read in place of the system's boot id: the program believes to be on another host
 *
 *   operation     write, sync, rename, link, unlink, open (for writing)
 *   program       must occur in the command line; - is any
 *   path          a pattern (fnmatch, where * takes slashes too) for the path; the new one for rename and link
 *   action        kill-before, kill-after, stop-before, stop-after (SIGSTOP to itself; the test lets it go on),
 *                 short (half of a write, then no space), or an errno: ENOSPC, EIO, EDQUOT, EROFS
 *
 * A rule that says `once` is used up by whoever removes its file: exactly one call of one process meets it, which is
 * also how a test sees that it was met. Rules may be added and removed at any time; `.` begins the name of a file that
 * is still being written.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RULES = 32, LINE = 1024 };

struct rule {
  char file[PATH_MAX];
  char operation[16], program[128], path[512];
  int once, kill_before, kill_after, stop_before, stop_after, cut_short, error;
};

static struct rule rules[MOST_RULES];
static int rule_count;
static struct timespec rules_read_at;
static const char *rules_folder;
static char command_line[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) _exit(97);
  return found;
}

__attribute__((constructor)) static void begin(void) {
  rules_folder = getenv("CHAOS_RULES");
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t length = read(file, command_line, sizeof command_line - 1);
    for (ssize_t at = 0; at < length - 1; at++)
      if (!command_line[at]) command_line[at] = ' ';
    close(file);
  }
}

static int errno_of(const char *name) {
  if (!strcmp(name, "ENOSPC") || !strcmp(name, "short")) return ENOSPC;
  if (!strcmp(name, "EIO")) return EIO;
  if (!strcmp(name, "EDQUOT")) return EDQUOT;
  if (!strcmp(name, "EROFS")) return EROFS;
  return 0;
}

static void read_rule(const char *name) {
  struct rule *rule = &rules[rule_count];
  char line[LINE], when[16], action[16];
  snprintf(rule->file, sizeof rule->file, "%s/%s", rules_folder, name);
  FILE *file = fopen(rule->file, "re");
  if (!file) return;
  char *got = fgets(line, sizeof line, file);
  fclose(file);
  if (!got) return;
  if (sscanf(line, "%15s %15s %127s %511s %15s", when, rule->operation, rule->program, rule->path, action) != 5) return;
  rule->once = !strcmp(when, "once");
  rule->kill_before = !strcmp(action, "kill-before");
  rule->kill_after = !strcmp(action, "kill-after");
  rule->stop_before = !strcmp(action, "stop-before");
  rule->stop_after = !strcmp(action, "stop-after");
  rule->cut_short = !strcmp(action, "short");
  rule->error = errno_of(action);
  if (strcmp(rule->program, "-") && !strstr(command_line, rule->program)) return;
  rule_count++;
}

/*
 * The folder's time of change tells whether the rules are still these; not when it is so young that another change could
 * carry the same time.
 */
static void refresh(void) {
  struct stat now;
  struct timespec clock;
  if (stat(rules_folder, &now) < 0) {
    rule_count = 0;
    return;
  }
  if (now.st_mtim.tv_sec == rules_read_at.tv_sec && now.st_mtim.tv_nsec == rules_read_at.tv_nsec) return;
  REAL(clock_gettime)(CLOCK_REALTIME, &clock);
  int64_t age = (clock.tv_sec - now.st_mtim.tv_sec) * 1000 + (clock.tv_nsec - now.st_mtim.tv_nsec) / 1000000;
  rules_read_at = age > 50 ? now.st_mtim : (struct timespec){0, 0};
  rule_count = 0;
  DIR *folder = opendir(rules_folder);
  if (!folder) return;
  for (struct dirent *entry; rule_count < MOST_RULES && (entry = readdir(folder));)
    if (entry->d_name[0] != '.') read_rule(entry->d_name);
  closedir(folder);
}

static int meets(const struct rule *rule, const char *operation, const char *path) {
  if (strcmp(rule->operation, operation) || fnmatch(rule->path, path, 0)) return 0;
  return !rule->once || REAL(unlink)(rule->file) == 0;
}

/* To this very thread, so that it does nothing more before the whole process stands still. */
static void stop_here(void) {
  raise(SIGSTOP);
}

/* The rule that this call meets, copied to `found`. Kills before it returns when the rule says so. */
static int fault(const char *operation, const char *path, struct rule *found) {
  if (!rules_folder || inside || !path) return 0;
  int before = errno, met = 0;
  inside = 1;
  pthread_mutex_lock(&lock);
  refresh();
  for (int at = 0; at < rule_count && !met; at++) {
    if (!meets(&rules[at], operation, path)) continue;
    *found = rules[at];
    met = 1;
  }
  pthread_mutex_unlock(&lock);
  inside = 0;
  if (met && found->kill_before) kill(getpid(), SIGKILL);
  if (met && found->stop_before) stop_here();
  errno = before;
  return met;
}

static int fault_at(const char *operation, int descriptor, struct rule *found) {
  if (!rules_folder || inside) return 0;
  char link_path[64], path[PATH_MAX];
  int before = errno;
  snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link_path, path, sizeof path - 1);
  errno = before;
  if (length <= 0 || path[0] != '/') return 0;
  path[length] = 0;
  return fault(operation, path, found);
}

/* What happens after the call itself, or instead of it. */
#define FAIL_OR(found, call)                                        \
  do {                                                              \
    if ((found).error) {                                            \
      errno = (found).error;                                        \
      return -1;                                                    \
    }                                                               \
    __auto_type result = (call);                                    \
    if ((found).kill_after) kill(getpid(), SIGKILL);                \
    if ((found).stop_after) stop_here();                            \
    return result;                                                  \
  } while (0)

#define WRITE_OR(found, call, half)                                 \
  do {                                                              \
    if ((found).cut_short && (half) > 0) {                          \
      count = (half);                                               \
      return (call);                                                \
    }                                                               \
    FAIL_OR(found, call);                                           \
  } while (0)

ssize_t write(int descriptor, const void *bytes, size_t count) {
  __auto_type call = REAL(write);
  struct rule found;
  if (!fault_at("write", descriptor, &found)) return call(descriptor, bytes, count);
  WRITE_OR(found, call(descriptor, bytes, count), count / 2);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  __auto_type call = REAL(pwrite);
  struct rule found;
  if (!fault_at("write", descriptor, &found)) return call(descriptor, bytes, count, offset);
  WRITE_OR(found, call(descriptor, bytes, count, offset), count / 2);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  __auto_type call = REAL(pwrite64);
  struct rule found;
  if (!fault_at("write", descriptor, &found)) return call(descriptor, bytes, count, offset);
  WRITE_OR(found, call(descriptor, bytes, count, offset), count / 2);
}

ssize_t writev(int descriptor, const struct iovec *pieces, int count) {
  __auto_type call = REAL(writev);
  struct rule found;
  if (!fault_at("write", descriptor, &found)) return call(descriptor, pieces, count);
  WRITE_OR(found, call(descriptor, pieces, count), count / 2);
}

int fsync(int descriptor) {
  __auto_type call = REAL(fsync);
  struct rule found;
  if (!fault_at("sync", descriptor, &found)) return call(descriptor);
  FAIL_OR(found, call(descriptor));
}

int fdatasync(int descriptor) {
  __auto_type call = REAL(fdatasync);
  struct rule found;
  if (!fault_at("sync", descriptor, &found)) return call(descriptor);
  FAIL_OR(found, call(descriptor));
}

int rename(const char *from, const char *to) {
  __auto_type call = REAL(rename);
  struct rule found;
  if (!fault("rename", to, &found)) return call(from, to);
  FAIL_OR(found, call(from, to));
}

int link(const char *from, const char *to) {
  __auto_type call = REAL(link);
  struct rule found;
  if (!fault("link", to, &found)) return call(from, to);
  FAIL_OR(found, call(from, to));
}

int unlink(const char *path) {
  __auto_type call = REAL(unlink);
  struct rule found;
  if (!fault("unlink", path, &found)) return call(path);
  FAIL_OR(found, call(path));
}

static const char *found_at(const char *path) {
  const char *boot_id = getenv("CHAOS_BOOT_ID");
  return boot_id && path && !strcmp(path, "/proc/sys/kernel/random/boot_id") ? boot_id : path;
}

#define OPENING(name)                                                                   \
  int name(const char *path, int flags, ...) {                                          \
    __auto_type call = REAL(name);                                                      \
    mode_t mode = 0;                                                                    \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                \
      va_list rest;                                                                     \
      va_start(rest, flags);                                                            \
      mode = va_arg(rest, mode_t);                                                      \
      va_end(rest);                                                                     \
    }                                                                                   \
    struct rule found;                                                                  \
    if ((flags & O_ACCMODE) == O_RDONLY || !fault("open", path, &found)) \
      return call(found_at(path), flags, mode);                                         \
    FAIL_OR(found, call(path, flags, mode));                                            \
  }

OPENING(open)
OPENING(open64)

/* ---- what these programs start ---- */

static const char *const PASSED_ON[] = {"LD_PRELOAD", "CHAOS_RULES", "CHAOS_CLOCK", "CHAOS_BOOT_ID"};
enum { PASSED_COUNT = sizeof PASSED_ON / sizeof *PASSED_ON };
static char *passed_on[PASSED_COUNT];

__attribute__((constructor)) static void note_passed_on(void) {
  for (int at = 0; at < PASSED_COUNT; at++) {
    const char *value = getenv(PASSED_ON[at]);
    if (value && asprintf(&passed_on[at], "%s=%s", PASSED_ON[at], value) < 0) _exit(97);
  }
}

/* Runs in a child that was just forked, so it takes no memory but that of its stack. */
int execvp(const char *file, char *const arguments[]) {
  int count = 0, kept = 0;
  while (environ[count]) count++;
  char *environment[count + PASSED_COUNT + 1];
  for (int at = 0; at < PASSED_COUNT; at++)
    if (passed_on[at] && !getenv(PASSED_ON[at])) environment[kept++] = passed_on[at];
  for (int at = 0; at < count; at++) environment[kept++] = environ[at];
  environment[kept] = NULL;
  return execvpe(file, arguments, environment);
}

/* ---- the wall clock ---- */

static const volatile int64_t *clock_offset;

__attribute__((constructor)) static void map_clock(void) {
  const char *path = getenv("CHAOS_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) clock_offset = mapped;
  close(file);
}

static void shift(struct timespec *time) {
  int64_t nanoseconds = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *clock_offset;
  time->tv_sec = nanoseconds / 1000000000;
  time->tv_nsec = nanoseconds % 1000000000;
}

int clock_gettime(clockid_t which, struct timespec *time) {
  static __typeof__(&clock_gettime) call;
  if (!call) call = REAL(clock_gettime);
  int result = call(which, time);
  if (result == 0 && clock_offset && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) shift(time);
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
