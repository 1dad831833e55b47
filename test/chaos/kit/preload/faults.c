/*
 * Faults for unmodified programs, by LD_PRELOAD.
 *
 *   CHAOS_RULES   a folder; each file in it is one rule, one line: <when> <operation> <program> <path> <action>
 *   CHAOS_CLOCK   a file with one signed 64-bit number: nanoseconds added to the wall clock. It is mapped, so a change
 *                 is seen at once
 *
 *   CHAOS_BOOT_ID a file that is read in place of the system's boot id: the program believes to be on another host
 *
 *   when          always
 *                 once              the first call only
 *                 calls:<n>:<m>     the n-th call (from 1) and the m-1 after it
 *                 chance:<p>:<seed> p calls of a million, which ones the seed decides
 *   operation     open, open-write (only for writing), read, write, sync, stat (access too), readdir, rename, link,
 *                 unlink (rmdir too), mkdir (and pipes), truncate, lock, map; any is each of them. Opening a folder to
 *                 list it is open
 *   program       must occur in the command line; - is any
 *   path          a pattern (fnmatch, where * takes slashes too) for the path; the new one for rename and link
 *   action        kill-before, kill-after, stop-before, stop-after (SIGSTOP to itself; the test lets it go on),
 *                 short (half of a write, then no space), none (only counts), or an errno by name
 *
 * A rule that says `once` is used up by whoever removes its file: exactly one call of one process meets it, which is
 * also how a test sees that it was met. Rules may be added and removed at any time; `.` begins the name of a file that
 * is still being written. `.<name>.tally` beside a rule, when it is there, is mapped and counts its calls in all
 * processes together (struct tally); `calls` and `chance` need it.
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
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RULES = 128, LINE = 1024, LAST = 480, A_MILLION = 1000000 };

/* Shared by all processes and with the test. */
struct tally {
  _Atomic uint64_t calls, met;
  /* What met the rule last: operation and path. */
  char last[LAST];
};

struct rule {
  char file[PATH_MAX];
  char operation[16], program[128], path[512];
  int once, kill_before, kill_after, stop_before, stop_after, cut_short, error;
  uint64_t first, count, chance, seed;
  struct tally *tally;
};

static struct rule rules[MOST_RULES];
static int rule_count;
static struct timespec rules_read_at;
static const char *rules_folder;
static char command_line[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

/* The function that this one stands before, looked up once. */
#define REAL(name)                                  \
  ({                                                \
    static void *found_##name;                      \
    if (!found_##name) found_##name = real(#name);  \
    (__typeof__(&name))found_##name;                \
  })

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) _exit(97);
  return found;
}

static void take_lock(void) {
  pthread_mutex_lock(&lock);
}

static void give_lock(void) {
  pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void begin(void) {
  inside = 1;
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t length = read(file, command_line, sizeof command_line - 1);
    for (ssize_t at = 0; at < length - 1; at++)
      if (!command_line[at]) command_line[at] = ' ';
    close(file);
  }
  inside = 0;
  rules_folder = getenv("CHAOS_RULES");
  /* A child that is forked while another thread looks at the rules would wait for that thread for ever. */
  pthread_atfork(take_lock, give_lock, give_lock);
}

static const struct {
  const char *name;
  int number;
} ERRORS[] = {
    {"short", ENOSPC},      {"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT},       {"EROFS", EROFS},
    {"EMFILE", EMFILE},     {"ENFILE", ENFILE}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES},       {"EPERM", EPERM},
    {"ESTALE", ESTALE},     {"EBUSY", EBUSY},   {"ENOENT", ENOENT}, {"ETIMEDOUT", ETIMEDOUT}, {"EINTR", EINTR},
    {"ENOTCONN", ENOTCONN}, {"EAGAIN", EAGAIN}, {"ENOLCK", ENOLCK}, {"EEXIST", EEXIST},
};

static int errno_of(const char *name) {
  for (size_t at = 0; at < sizeof ERRORS / sizeof *ERRORS; at++)
    if (!strcmp(ERRORS[at].name, name)) return ERRORS[at].number;
  return 0;
}

static struct tally *tally_of(const char *name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/.%s.tally", rules_folder, name);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return NULL;
  void *mapped = mmap(NULL, sizeof(struct tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static void read_rule(const char *name) {
  struct rule *rule = &rules[rule_count];
  char line[LINE], when[48], action[16];
  snprintf(rule->file, sizeof rule->file, "%s/%s", rules_folder, name);
  FILE *file = fopen(rule->file, "re");
  if (!file) return;
  char *got = fgets(line, sizeof line, file);
  fclose(file);
  if (!got) return;
  if (sscanf(line, "%47s %15s %127s %511s %15s", when, rule->operation, rule->program, rule->path, action) != 5) return;
  if (strcmp(rule->program, "-") && !strstr(command_line, rule->program)) return;
  rule->once = !strcmp(when, "once");
  rule->first = rule->count = rule->chance = rule->seed = 0;
  sscanf(when, "calls:%lu:%lu", &rule->first, &rule->count);
  sscanf(when, "chance:%lu:%lu", &rule->chance, &rule->seed);
  rule->kill_before = !strcmp(action, "kill-before");
  rule->kill_after = !strcmp(action, "kill-after");
  rule->stop_before = !strcmp(action, "stop-before");
  rule->stop_after = !strcmp(action, "stop-after");
  rule->cut_short = !strcmp(action, "short");
  rule->error = errno_of(action);
  rule->tally = tally_of(name);
  rule_count++;
}

static void forget_rules(void) {
  for (int at = 0; at < rule_count; at++)
    if (rules[at].tally) munmap(rules[at].tally, sizeof(struct tally));
  rule_count = 0;
}

/*
 * The folder's time of change tells whether the rules are still these; not when it is so young that another change could
 * carry the same time.
 */
static void refresh(void) {
  struct stat now;
  struct timespec clock;
  if (REAL(stat)(rules_folder, &now) < 0) {
    forget_rules();
    return;
  }
  if (now.st_mtim.tv_sec == rules_read_at.tv_sec && now.st_mtim.tv_nsec == rules_read_at.tv_nsec) return;
  REAL(clock_gettime)(CLOCK_REALTIME, &clock);
  int64_t age = (clock.tv_sec - now.st_mtim.tv_sec) * 1000 + (clock.tv_nsec - now.st_mtim.tv_nsec) / 1000000;
  rules_read_at = age > 50 ? now.st_mtim : (struct timespec){0, 0};
  forget_rules();
  DIR *folder = opendir(rules_folder);
  if (!folder) return;
  for (struct dirent *entry; rule_count < MOST_RULES && (entry = readdir(folder));)
    if (entry->d_name[0] != '.') read_rule(entry->d_name);
  closedir(folder);
}

/* A number that looks like chance, made of two (splitmix64 by Sebastiano Vigna, public domain). */
static uint64_t mixed(uint64_t seed, uint64_t number) {
  uint64_t value = seed * 0x9e3779b97f4a7c15 + number * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

static int is_for(const struct rule *rule, const char *operation) {
  if (!strcmp(rule->operation, operation) || !strcmp(rule->operation, "any")) return 1;
  return !strcmp(rule->operation, "open") && !strcmp(operation, "open-write");
}

static int is_due(const struct rule *rule, uint64_t call) {
  if (rule->once) return REAL(unlink)(rule->file) == 0;
  if (rule->first) return call >= rule->first && call - rule->first < rule->count;
  if (rule->chance) return mixed(rule->seed, call) % A_MILLION < rule->chance;
  return 1;
}

static int meets(const struct rule *rule, const char *operation, const char *path) {
  if (!is_for(rule, operation) || fnmatch(rule->path, path, 0)) return 0;
  uint64_t call = rule->tally ? atomic_fetch_add(&rule->tally->calls, 1) + 1 : 0;
  if (!is_due(rule, call)) return 0;
  if (rule->tally) {
    atomic_fetch_add(&rule->tally->met, 1);
    snprintf(rule->tally->last, LAST, "%.16s %.*s", operation, LAST - 20, path);
  }
  return 1;
}

/* To this very thread, so that it does nothing more before the whole process stands still. */
static void stop_here(void) {
  raise(SIGSTOP);
}

enum { TEXT = PATH_MAX + NAME_MAX + 2 };

/* Where a call acts: a path, or a descriptor, or a name below a descriptor. */
struct place {
  const char *path;
  int descriptor;
};

#define PATH(path) ((struct place){path, AT_FDCWD})
#define AT(descriptor, path) ((struct place){path, descriptor})
#define OPENED(descriptor) ((struct place){"", descriptor})

/* The path of a place, written to `text`; NULL when it is none (a pipe, a socket). */
static const char *path_of(struct place place, char *text) {
  if (!place.path) return NULL;
  if (place.path[0] == '/' || place.descriptor == AT_FDCWD) return place.path;
  char link_path[64];
  snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", place.descriptor);
  ssize_t length = readlink(link_path, text, PATH_MAX - 1);
  if (length <= 0 || text[0] != '/') return NULL;
  snprintf(text + length, TEXT - length, "%s%.255s", place.path[0] ? "/" : "", place.path);
  return text;
}

/*
 * No rule is for pipes and sockets. Handlers of signals read and write pipes, and may interrupt whoever holds the lock of the
 * heap: for them nothing may be looked up that takes memory.
 */
static int is_stream(struct place place) {
  struct stat now;
  if (!place.path || place.path[0] || place.descriptor < 0) return 0;
  int before = errno, failed = REAL(fstat)(place.descriptor, &now);
  errno = before;
  if (failed) return 0;
  return !S_ISREG(now.st_mode) && !S_ISDIR(now.st_mode);
}

/* The rule that this call meets, copied to `found`. Kills before it returns when the rule says so. */
static int fault(const char *operation, struct place place, struct rule *found) {
  if (!rules_folder || inside || is_stream(place)) return 0;
  int before = errno, met = 0, wanted = 0;
  char text[TEXT];
  const char *path = NULL;
  inside = 1;
  take_lock();
  refresh();
  for (int at = 0; at < rule_count && !wanted; at++) wanted = is_for(&rules[at], operation);
  if (wanted) path = path_of(place, text);
  for (int at = 0; path && at < rule_count && !met; at++) {
    if (!meets(&rules[at], operation, path)) continue;
    *found = rules[at];
    met = 1;
  }
  give_lock();
  inside = 0;
  if (met && found->kill_before) kill(getpid(), SIGKILL);
  if (met && found->stop_before) stop_here();
  errno = before;
  return met;
}

/* What happens after the call itself, or instead of it. */
#define FAIL_AS(failure, found, call)                               \
  do {                                                              \
    if ((found).error) {                                            \
      errno = (found).error;                                        \
      return failure;                                               \
    }                                                               \
    __auto_type result = (call);                                    \
    if ((found).kill_after) kill(getpid(), SIGKILL);                \
    if ((found).stop_after) stop_here();                            \
    return result;                                                  \
  } while (0)

#define FAIL_OR(found, call) FAIL_AS(-1, found, call)

#define WRITE_OR(found, call, half)                                 \
  do {                                                              \
    if ((found).cut_short && (half) > 0) {                          \
      count = (half);                                               \
      return (call);                                                \
    }                                                               \
    FAIL_OR(found, call);                                           \
  } while (0)

/* A call that is nothing but itself: type, name, operation, place, then its parameters and what it is called with. */
#define PLAIN(type, name, operation, place, parameters, arguments)  \
  type name parameters {                                            \
    __auto_type call = REAL(name);                                  \
    struct rule found;                                              \
    if (!fault(operation, place, &found)) return call arguments;    \
    FAIL_OR(found, call arguments);                                 \
  }

/* A write of `count` bytes or pieces, which may be cut short. */
#define WRITING(name, descriptor, parameters, arguments)            \
  ssize_t name parameters {                                         \
    __auto_type call = REAL(name);                                  \
    struct rule found;                                              \
    if (!fault("write", OPENED(descriptor), &found)) return call arguments; \
    WRITE_OR(found, call arguments, count / 2);                     \
  }

WRITING(write, fd, (int fd, const void *bytes, size_t count), (fd, bytes, count))
WRITING(pwrite, fd, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
WRITING(pwrite64, fd, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
WRITING(writev, fd, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
WRITING(pwritev, fd, (int fd, const struct iovec *pieces, int count, off_t at), (fd, pieces, count, at))
WRITING(pwritev64, fd, (int fd, const struct iovec *pieces, int count, off64_t at), (fd, pieces, count, at))
WRITING(sendfile, to, (int to, int from, off_t *at, size_t count), (to, from, at, count))
WRITING(sendfile64, to, (int to, int from, off64_t *at, size_t count), (to, from, at, count))

PLAIN(ssize_t, read, "read", OPENED(fd), (int fd, void *bytes, size_t count), (fd, bytes, count))
PLAIN(ssize_t, pread, "read", OPENED(fd), (int fd, void *bytes, size_t count, off_t at), (fd, bytes, count, at))
PLAIN(ssize_t, pread64, "read", OPENED(fd), (int fd, void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
PLAIN(ssize_t, readv, "read", OPENED(fd), (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
PLAIN(ssize_t, preadv, "read", OPENED(fd), (int fd, const struct iovec *pieces, int count, off_t at),
      (fd, pieces, count, at))
PLAIN(ssize_t, preadv64, "read", OPENED(fd), (int fd, const struct iovec *pieces, int count, off64_t at),
      (fd, pieces, count, at))

PLAIN(int, fsync, "sync", OPENED(fd), (int fd), (fd))
PLAIN(int, fdatasync, "sync", OPENED(fd), (int fd), (fd))

PLAIN(int, stat, "stat", PATH(path), (const char *restrict path, struct stat *restrict into), (path, into))
PLAIN(int, stat64, "stat", PATH(path), (const char *restrict path, struct stat64 *restrict into), (path, into))
PLAIN(int, lstat, "stat", PATH(path), (const char *restrict path, struct stat *restrict into), (path, into))
PLAIN(int, lstat64, "stat", PATH(path), (const char *restrict path, struct stat64 *restrict into), (path, into))
PLAIN(int, fstat, "stat", OPENED(fd), (int fd, struct stat *into), (fd, into))
PLAIN(int, fstat64, "stat", OPENED(fd), (int fd, struct stat64 *into), (fd, into))
PLAIN(int, fstatat, "stat", AT(fd, path), (int fd, const char *restrict path, struct stat *restrict into, int flags),
      (fd, path, into, flags))
PLAIN(int, fstatat64, "stat", AT(fd, path),
      (int fd, const char *restrict path, struct stat64 *restrict into, int flags), (fd, path, into, flags))
PLAIN(int, statx, "stat", AT(fd, path),
      (int fd, const char *restrict path, int flags, unsigned int mask, struct statx *restrict into),
      (fd, path, flags, mask, into))
PLAIN(int, access, "stat", PATH(path), (const char *path, int mode), (path, mode))
PLAIN(int, faccessat, "stat", AT(fd, path), (int fd, const char *path, int mode, int flags), (fd, path, mode, flags))

PLAIN(int, rename, "rename", PATH(to), (const char *from, const char *to), (from, to))
PLAIN(int, renameat, "rename", AT(new, to), (int old, const char *from, int new, const char *to), (old, from, new, to))
PLAIN(int, renameat2, "rename", AT(new, to), (int old, const char *from, int new, const char *to, unsigned int flags),
      (old, from, new, to, flags))
PLAIN(int, link, "link", PATH(to), (const char *from, const char *to), (from, to))
PLAIN(int, linkat, "link", AT(new, to), (int old, const char *from, int new, const char *to, int flags),
      (old, from, new, to, flags))
PLAIN(int, symlink, "link", PATH(to), (const char *from, const char *to), (from, to))
PLAIN(int, symlinkat, "link", AT(new, to), (const char *from, int new, const char *to), (from, new, to))
PLAIN(int, unlink, "unlink", PATH(path), (const char *path), (path))
PLAIN(int, unlinkat, "unlink", AT(fd, path), (int fd, const char *path, int flags), (fd, path, flags))
PLAIN(int, rmdir, "unlink", PATH(path), (const char *path), (path))
PLAIN(int, mkdir, "mkdir", PATH(path), (const char *path, mode_t mode), (path, mode))
PLAIN(int, mkdirat, "mkdir", AT(fd, path), (int fd, const char *path, mode_t mode), (fd, path, mode))
PLAIN(int, mkfifo, "mkdir", PATH(path), (const char *path, mode_t mode), (path, mode))
PLAIN(int, mkfifoat, "mkdir", AT(fd, path), (int fd, const char *path, mode_t mode), (fd, path, mode))
PLAIN(int, ftruncate, "truncate", OPENED(fd), (int fd, off_t length), (fd, length))
PLAIN(int, ftruncate64, "truncate", OPENED(fd), (int fd, off64_t length), (fd, length))
PLAIN(int, flock, "lock", OPENED(fd), (int fd, int how), (fd, how))

/* These two answer the error itself. */
#define ALLOCATING(name, offset_type)                               \
  int name(int fd, offset_type at, offset_type length) {            \
    __auto_type call = REAL(name);                                  \
    struct rule found;                                              \
    if (!fault("truncate", OPENED(fd), &found)) return call(fd, at, length); \
    FAIL_AS(found.error, found, call(fd, at, length));              \
  }

ALLOCATING(posix_fallocate, off_t)
ALLOCATING(posix_fallocate64, off64_t)

/* Only locks: what else fcntl does concerns no file on a disk. */
#define CONTROLLING(name)                                           \
  int name(int fd, int command, ...) {                              \
    __auto_type call = REAL(name);                                  \
    va_list rest;                                                   \
    va_start(rest, command);                                        \
    void *argument = va_arg(rest, void *);                          \
    va_end(rest);                                                   \
    int locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW; \
    struct rule found;                                              \
    if (!locks || !fault("lock", OPENED(fd), &found)) return call(fd, command, argument); \
    FAIL_OR(found, call(fd, command, argument));                    \
  }

CONTROLLING(fcntl)
CONTROLLING(fcntl64)

#define MAPPING(name, offset_type)                                  \
  void *name(void *where, size_t length, int protection, int flags, int fd, offset_type at) { \
    __auto_type call = REAL(name);                                  \
    struct rule found;                                              \
    if (fd < 0 || !fault("map", OPENED(fd), &found)) return call(where, length, protection, flags, fd, at); \
    FAIL_AS(MAP_FAILED, found, call(where, length, protection, flags, fd, at)); \
  }

MAPPING(mmap, off_t)
MAPPING(mmap64, off64_t)

/* ---- listing folders ---- */

DIR *opendir(const char *path) {
  __auto_type call = REAL(opendir);
  struct rule found;
  if (!fault("open", PATH(path), &found)) return call(path);
  FAIL_AS(NULL, found, call(path));
}

#define LISTING(name, entry_type)                                   \
  entry_type *name(DIR *folder) {                                   \
    __auto_type call = REAL(name);                                  \
    struct rule found;                                              \
    if (!fault("readdir", OPENED(dirfd(folder)), &found)) return call(folder); \
    FAIL_AS(NULL, found, call(folder));                             \
  }

LISTING(readdir, struct dirent)
LISTING(readdir64, struct dirent64)

/* Opens and reads the folder in one, so it may meet a rule for either. */
#define SCANNING(name, entry_type)                                  \
  int name(const char *restrict path, entry_type ***restrict list, int (*filter)(const entry_type *), \
           int (*order)(const entry_type **, const entry_type **)) { \
    __auto_type call = REAL(name);                                  \
    struct rule found;                                              \
    if (!fault("open", PATH(path), &found) && !fault("readdir", PATH(path), &found)) \
      return call(path, list, filter, order);                       \
    FAIL_OR(found, call(path, list, filter, order));                \
  }

SCANNING(scandir, struct dirent)
SCANNING(scandir64, struct dirent64)

/*
 * libuv asks for statx and copy_file_range by number. A program that passes fewer arguments than six leaves what
 * stands in the other registers, which the kernel does not look at.
 */
long syscall(long number, ...) {
  __auto_type call = REAL(syscall);
  va_list rest;
  long given[6];
  va_start(rest, number);
  for (int at = 0; at < 6; at++) given[at] = va_arg(rest, long);
  va_end(rest);
#define CALL call(number, given[0], given[1], given[2], given[3], given[4], given[5])
  struct rule found;
  int met = 0;
  if (number == SYS_statx) met = fault("stat", AT((int)given[0], (const char *)given[1]), &found);
  if (number == SYS_copy_file_range) met = fault("write", OPENED((int)given[2]), &found);
  if (!met) return CALL;
  FAIL_OR(found, CALL);
}

static const char *found_at(const char *path) {
  const char *boot_id = getenv("CHAOS_BOOT_ID");
  return boot_id && path && !strcmp(path, "/proc/sys/kernel/random/boot_id") ? boot_id : path;
}

static mode_t mode_of(int flags, va_list rest) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

static const char *opening(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY ? "open" : "open-write";
}

#define OPENING(name)                                               \
  int name(const char *path, int flags, ...) {                      \
    __auto_type call = REAL(name);                                  \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = mode_of(flags, rest);                             \
    va_end(rest);                                                   \
    struct rule found;                                              \
    if (!fault(opening(flags), PATH(path), &found)) return call(found_at(path), flags, mode); \
    FAIL_OR(found, call(path, flags, mode));                        \
  }

#define OPENING_AT(name)                                            \
  int name(int fd, const char *path, int flags, ...) {              \
    __auto_type call = REAL(name);                                  \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode_t mode = mode_of(flags, rest);                             \
    va_end(rest);                                                   \
    struct rule found;                                              \
    if (!fault(opening(flags), AT(fd, path), &found)) return call(fd, found_at(path), flags, mode); \
    FAIL_OR(found, call(fd, path, flags, mode));                    \
  }

OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)

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
  inside = 1;
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) clock_offset = mapped;
    close(file);
  }
  inside = 0;
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
