import type { Client, FormModel } from '@holdfast/client'
import { expect, test } from 'vitest'
import { Judge } from '../../control-plane/src/cli/ask/judge.js'
import { RefusedError } from '../../control-plane/src/cli/errors.js'

/** A judge of a form whose control plane gives these answers, one after the other. */
function judgeWith(answers: readonly (RefusedError | { shown: boolean })[]) {
  let asked = 0
  const evaluateForm = () => {
    const answer = answers[asked]
    asked += 1
    return answer instanceof RefusedError
      ? Promise.reject(answer)
      : Promise.resolve({ steps: { one: { shown: answer?.shown, fields: {} } } })
  }
  const client = { evaluateForm } as unknown as Pick<Client, 'evaluateForm'>
  const judge = new Judge(client, { name: 'f' } as FormModel, new Map())
  return { judge, asked: () => asked }
}

test('a control plane that was asked too often is asked again, and a person notices nothing', async () => {
  const { judge, asked } = judgeWith([new RefusedError('slower', 429, 'too_many'), { shown: false }])
  expect(await judge.isStepShown('one')).toBe(false)
  expect(asked()).toBe(2)
})

test('every other refusal ends the questions at once', async () => {
  const { judge, asked } = judgeWith([new RefusedError('no', 403, 'forbidden'), { shown: true }])
  await expect(judge.isStepShown('one')).rejects.toThrow('no')
  expect(asked()).toBe(1)
})
