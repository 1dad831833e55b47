/** Records of a list as JSON, so that nobody has to write them twice. */
export interface WrittenRecords {
  readonly count: number
  /** The records with commas between them, without the brackets around them. */
  readonly text: string
}

/** Writes records all at once: one by one takes half as much time more. */
export function writtenRecords(records: readonly object[]): WrittenRecords {
  return { count: records.length, text: JSON.stringify(records).slice(1, -1) }
}
