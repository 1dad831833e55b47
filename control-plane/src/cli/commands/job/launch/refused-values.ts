import type { Client } from '@holdfast/client'
import { CliError, RefusedError } from '../../../errors.js'
import { isAboutValues, refusalText } from '../../../refusal-text.js'
import { optionsText } from '../../form/field-words.js'
import { fetchForm, fieldGroupsOf } from '../../form/read-form.js'

/**
 * Sends a request that launches a form. When values are refused, the error names the options of those fields.
 * @param formName is called only when values are refused
 * @throws CliError
 */
export async function withOptionsSaid<Answer>(
  client: Client,
  formName: () => Promise<string>,
  request: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request()
  } catch (error) {
    if (!(error instanceof RefusedError) || error.refusal === null || !isAboutValues(error.refusal)) throw error
    const options = await optionsByField(client, formName)
    const text = refusalText(error.refusal, (field) => options.get(field.replace(/\[\d+\]/g, '')) ?? null)
    throw new RefusedError(text, error.status, error.code, error.refusal)
  }
}

/** The options by the path of the field. Empty when the form cannot be read, because the refusal is more important. */
async function optionsByField(client: Client, formName: () => Promise<string>): Promise<ReadonlyMap<string, string>> {
  try {
    const groups = fieldGroupsOf(await fetchForm(client, await formName()))
    return new Map(
      groups.flatMap(({ under, fields }) =>
        fields.flatMap((field) => {
          const text = optionsText(field)
          return text === null ? [] : [[under === null ? field.name : `${under}.${field.name}`, `options: ${text}`]]
        }),
      ) as [string, string][],
    )
  } catch (error) {
    if (error instanceof CliError) return new Map()
    throw error
  }
}
