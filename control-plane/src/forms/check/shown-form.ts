/** A field as a page has to show it while people fill in the form. */
export interface ShownField {
  readonly shown: boolean
  readonly required: boolean
  /** The value that counts now. A password has none here. */
  readonly value?: unknown
  /** The options of a field with choices, if they could be computed. */
  readonly choices?: readonly unknown[]
  /** Why it could not be evaluated. */
  readonly waiting?: string
  /** Its source was asked and has not answered yet: it is worth to look again. */
  readonly asking?: boolean
}

/** What a page has to show of a form: its fields, and the steps of a wizard with theirs. */
export interface ShownForm {
  readonly fields: Readonly<Record<string, ShownField>>
  readonly steps: Readonly<Record<string, ShownStep>>
}

/** A step of a wizard. */
export interface ShownStep {
  readonly shown: boolean
  /** Why that cannot be known. */
  readonly waiting?: string
  readonly fields: Readonly<Record<string, ShownField>>
}
