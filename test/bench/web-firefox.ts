import { signInAsAdmin, startFirefox } from '../browser/kit/firefox.js'
import { type Figure, atMost } from './report.js'
import type { SurvivalProduct } from './survival-product.js'
import { FOLLOWED, WATCHED_SECONDS, waitInPage, watch } from './web-page.js'
import { scroll } from './web-scroll.js'

/**
 * Following and scrolling in the machine's own Firefox. It tells neither its longest task nor the memory of its scripts.
 * @param longId number of a job with a long output
 */
export async function measureFirefox({ product, launch }: SurvivalProduct, longId: number): Promise<Figure[]> {
  const page = await startFirefox()
  try {
    await signInAsAdmin(page, product.address)
    const { jobId } = await launch('followed in Firefox', {
      ...FOLLOWED,
      // It takes longer to start than chromium.
      steps: FOLLOWED.perSecond * (WATCHED_SECONDS + 30),
    })
    await page.goTo(`${product.address}/jobs/${jobId}`)
    await waitInPage(page, `document.querySelectorAll('.log-row:not([hidden]) .log-text').length > 10`)
    const followed = await watch(page, WATCHED_SECONDS)

    await page.goTo(`${product.address}/jobs/${longId}#L500001`)
    await waitInPage(page, `document.querySelectorAll('.log-row:not([hidden]):not(.log-missing)').length > 10`)
    const scrolled = await scroll(page, (pixels) => page.wheel('.log-scroller', pixels))
    const name = `Firefox: following ${FOLLOWED.perSecond} lines a second`
    return [
      atMost(`${name}: frames, 99 %`, followed.frameMs, 'ms', 34, `${WATCHED_SECONDS} s`),
      { ...atMost(`${name}: behind, 95 %`, followed.behindMs / 1000, 's', 0.5, ''), digits: 2 },
      atMost(`${name}: elements of the page`, followed.elements, '', 1500, ''),
      atMost('Firefox: frames while scrolling a million lines with the wheel, 99 %', scrolled.frameMs, 'ms', 34, ''),
    ]
  } finally {
    await page.close()
  }
}
