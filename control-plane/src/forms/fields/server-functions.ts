/**
 * The functions below `fn.` that scripts have here. All others that forms of the product family call need a data
 * source.
 */
export const SERVER_FUNCTIONS = ['fnGetNumberedName', 'fnArray', 'fnToTable', 'fnSort', 'fnCopy', 'fnCidr'] as const
