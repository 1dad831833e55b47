/** The tabs of a job that are not open at first. They are loaded together, because together they are smaller. */
export { CompareTab } from './compare-tab.js'
export { NodesTab } from './nodes-tab.js'
export { TasksTab } from './tasks-tab.js'
export { TimelineTab } from './timeline-tab.js'
export { History, Values } from './values.js'
