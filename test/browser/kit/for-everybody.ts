import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { accessFaultsInAllColors } from './axe.js'

/**
 * Expects that people with disabilities can use the page as it stands, in light and dark colours, and that nothing of it is
 * wider than a small screen. The page then has its usual size and light colours again.
 */
export async function expectForEverybody(page: Page): Promise<void> {
  expect(await accessFaultsInAllColors(page)).toEqual([])
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  expect(await accessFaultsInAllColors(page)).toEqual([])
  await page.setViewportSize({ width: 1180, height: 720 })
}
