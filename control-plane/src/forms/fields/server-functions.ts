/** Functions below `fn.` that scripts have here; whatever else a form calls there asks a data source. */
export const SERVER_FUNCTIONS = ['fnGetNumberedName', 'fnArray', 'fnToTable', 'fnSort', 'fnCopy', 'fnCidr'] as const
