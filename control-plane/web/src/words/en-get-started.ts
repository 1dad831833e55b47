/** Texts for an installation that has run no job yet. They are loaded only there. */
export const getStartedWords = {
  title: 'Get started',
  done: 'Done',
  open: 'To do',
  runner: {
    title: 'Let a runner in',
    text: 'A runner is a host that runs the playbooks. Make a join token, and start the agent there with the command that you see.',
    link: 'Make a join token',
    done: (names: string) => `${names} can run playbooks.`,
  },
  form: {
    title: 'Have a form',
    text: 'A form is a file in the folder of forms. What people fill in becomes variables of a playbook. The examples of the package are forms, too.',
    link: 'See the forms',
    done: (count: string) => `${count} can be launched.`,
  },
  job: {
    title: 'Launch it',
    text: 'Fill the form in, and follow the job here.',
    link: 'Choose a form',
  },
  safe: {
    title: 'Before others use it',
    text: 'Add people or a directory, turn on TLS, and make backups. These commands say what is missing, and make a copy:',
    commands: ['holdfast check', 'holdfast backup /backup/holdfast.backup'],
  },
} as const
