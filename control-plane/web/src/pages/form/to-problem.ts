/** To the first field with a problem that is shown, once it is marked. */
export function toProblem(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => {
    const marked = [...(form?.querySelectorAll('.field-errors') ?? [])]
    const shown = marked.find((errors) => errors.closest('[hidden]') === null)
    shown?.parentElement?.querySelector<HTMLElement>('input, select, textarea, button')?.focus()
  })
}
