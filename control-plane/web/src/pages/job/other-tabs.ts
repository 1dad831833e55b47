/**
 * The tabs of a job that are not open at first, and the parts of its output that are loaded after the first lines. They are
 * loaded together, because together they are smaller.
 */
export { LogExtras } from '../../log/extras.js'
export { HitMarks, LogFind } from '../../log/log-find.js'
export { CompareTab } from './compare-tab.js'
export { NodesTab } from './nodes-tab.js'
export { Pieces } from './pieces.js'
export { EventDialog } from './result-dialog.js'
export { TasksTab } from './tasks-tab.js'
export { TimelineTab } from './timeline-tab.js'
export { History, Values } from './values.js'
export { WhyFailed } from './why-failed.js'
