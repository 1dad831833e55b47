import { useRef, useState } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { Content } from '../../parts/content.js'
import { words } from '../../words/en.js'

/** What one may do with a job, without leaving the list. The menu lies over the list, so that no row moves. */
export function RowMenu({ id }: { readonly id: number }) {
  const menu = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const name = `menu-${id}`
  return (
    <>
      <button type="button" class="quiet" aria-label={words.jobs.actionsOf(id)} popovertarget={name}>
        ⋯
      </button>
      <div
        ref={menu}
        id={name}
        class="menu"
        role="group"
        aria-label={words.jobs.actionsOf(id)}
        popover="auto"
        onBeforeToggle={({ newState }) => {
          if (newState === 'open') putBelow(menu.current)
        }}
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen && <Menu id={id} done={() => setTimeout(() => close(menu.current))} />}
      </div>
    </>
  )
}

function Menu(props: { readonly id: number; readonly done: () => void }) {
  const answer = useAnswer('job-menu', [], () => import('../job/job-page.js'))
  return (
    <>
      <strong>{words.job.title(props.id)}</strong>
      <Content answer={answer}>{({ JobMenu }) => <JobMenu {...props} />}</Content>
    </>
  )
}

/**
 * Closes a menu after an action, when the question over it is gone. The button that was pressed may be gone, too, so the
 * focus does not go back by itself.
 */
function close(menu: HTMLElement | null) {
  menu?.hidePopover()
  openerOf(menu)?.focus()
}

const openerOf = (menu: HTMLElement | null) =>
  menu?.previousElementSibling instanceof HTMLElement ? menu.previousElementSibling : null

/** Puts a menu below the button before it. */
function putBelow(menu: HTMLElement | null) {
  const button = openerOf(menu)?.getBoundingClientRect()
  if (!menu || !button) return
  menu.style.setProperty('--top', `${button.bottom + scrollY}px`)
  menu.style.setProperty('--right', `${document.documentElement.clientWidth - button.right}px`)
}
