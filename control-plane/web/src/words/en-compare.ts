import { many } from './count.js'

/** Texts of the comparison of two jobs. They are loaded with that page only. */
export const compareWords = {
  with: 'Compare with job',
  show: 'Compare',
  last: 'The last good run',
  beside: 'Compared with',
  none: 'No earlier run of this that you may see has succeeded. Name another job to compare with.',
  same: 'Nothing differs: variables, hosts, results and durations are the same.',
  incomplete: 'A run had more hosts and tasks than are kept. What comes later is not compared.',
  values: 'Variables that differ',
  valueColumns: { name: 'Variable', is: 'This job', was: 'The other job' },
  missing: 'not there',
  hosts: 'Hosts of one job only',
  onlyHere: (hosts: string) => `Only this job had: ${hosts}`,
  onlyThere: (hosts: string) => `Only the other job had: ${hosts}`,
  moreHosts: (count: number) => ` and ${count.toLocaleString('en')} more`,
  steps: 'Steps',
  stepColumns: { name: 'Step', is: 'This job', was: 'The other job', took: 'Took', before: 'Took there' },
  results: 'Results that differ',
  resultColumns: { task: 'Task', host: 'Host', is: 'This job', was: 'The other job' },
  tasks: 'How long tasks took',
  taskColumns: { task: 'Task', took: 'This job', before: 'The other job', longer: 'Longer by' },
  notRun: 'not run',
  more: (count: number) => `${many(count, 'more is', 'more are')} not shown.`,
  sign: (text: string, isLonger: boolean) => `${isLonger ? '+' : '−'}${text}`,
}
