/**
 * The first of 32 numbers of users that no host has, for jobs of the tests of this process. Other runs of the tests have
 * others: an agent ends whatever runs as the users of its jobs.
 */
export const FIRST_JOB_USER = 1_000_000 + process.pid * 32
