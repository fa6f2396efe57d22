/**
 * What a driver of a client or engine in Java implements, to be measured by Assay's Java worker.
 *
 * <p>A program has one store open at a time. {@link assay.driver.Driver} describes itself and opens a
 * {@link assay.driver.Store}; the store gives {@link assay.driver.Handle}s, on which the worker's
 * threads call {@code get}, {@code put} and {@code delete}, and what else the handle's type can
 * ({@link assay.driver.Handle.Add} and its neighbours). A driver is found by
 * {@link java.util.ServiceLoader}: its jar names the class in
 * {@code META-INF/services/assay.driver.Driver}. docs/jvm.md leads through one.
 */
package assay.driver;
